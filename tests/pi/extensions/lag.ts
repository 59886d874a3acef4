// How long Pi was kept from doing anything else since the last /lag, in milliseconds of its own processor time (other
// programs of the machine do not count), written to $PI_LAG_FILE by the command /lag.
import { writeFileSync } from "node:fs";

export default function (pi: any) {
  let longest = 0;
  const spent = () => process.cpuUsage().user / 1000;
  let last = spent();
  setInterval(() => {
    const now = spent();
    longest = Math.max(longest, now - last);
    last = now;
  }, 1).unref();
  pi.registerCommand("lag", {
    description: "lag",
    handler: async () => {
      writeFileSync(process.env.PI_LAG_FILE as string, `${longest}\n`);
      longest = 0;
      last = spent();
    },
  });
}
