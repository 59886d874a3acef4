#!/usr/bin/env python3
"""Runs each agent in each of its ways: some at a time, each in namespaces of its own, with a deadline.

A run has a network namespace with nothing but loopback, so that no agent can ask anybody but the scripted model, and a
process namespace, so that nothing of it is left when it ends. One that fails is run once more; if it passes then, it
counts as passed and is named as rerun, so that a test that is not steady is seen without being in the way.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent
#: The longest begin first. `hooks`: what is installed. `run`: under `jig-session run` alone. `both`: both at once.
SUITES = [("opencode", "hooks"), ("qwen", "hooks"), ("copilot", "hooks"), ("gemini", "hooks"), ("claude", "hooks"),
          ("codex", "hooks"), ("claude", "both"), ("codex", "both"), ("claude", "run"), ("codex", "run"),
          ("opencode", "both"), ("qwen", "both"), ("copilot", "both"), ("gemini", "both")]
#: `plugin`: what the agent's own plugin command installs from this clone. Only by its name.
PLUGINS = [(agent, "plugin") for agent in ("opencode", "copilot", "gemini", "claude", "codex")]
SUITE_SECONDS = 600
AT_ONCE = 3
NAMESPACES = (["--net", "--pid", "--fork", "--mount-proc"],
              ["--user", "--map-root-user", "--net", "--pid", "--fork", "--mount-proc"])


def isolation():
    """What puts a command into namespaces of its own; None where this is not allowed."""
    for flags in NAMESPACES:
        try:
            if subprocess.run(["unshare", *flags, "true"], capture_output=True).returncode == 0:
                return ["unshare", *flags]
        except FileNotFoundError:
            return None
    return None


def run(suite, env, isolated):
    began = time.monotonic()
    # The shell is the first process there and takes over what others leave behind.
    command = [*isolated, "sh", "-c", '"$@"; exit $?', "sh", sys.executable, str(ROOT / "suite.py"), *suite]
    process = subprocess.Popen(command, env=env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=SUITE_SECONDS)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        output, _ = process.communicate()
        output += f"\nFAILED: not done after {SUITE_SECONDS} s\n"
        code = 1
    return suite, code, output, time.monotonic() - began


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--agents", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--moments", help="a file for what ls said at each moment, and after how long")
    parser.add_argument("names", nargs="*", help="agents, or AGENT:WAY")
    args = parser.parse_args()
    isolated = isolation()
    if isolated is None:
        print("SKIPPED e2e agents: no network namespace can be made here (unshare --net)")
        print("0 passed")
        return 0
    chosen = [suite for suite in SUITES if not args.names or suite[0] in args.names or ":".join(suite) in args.names]
    chosen += [suite for suite in PLUGINS if ":".join(suite) in args.names or "plugins" in args.names]
    env = {**os.environ, "KIT_AGENTS": args.agents, "KIT_PROGRAM": args.program, "PYTHONDONTWRITEBYTECODE": "1"}
    passed, failed, moments = 0, [], []
    with concurrent.futures.ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        ran = list(pool.map(lambda suite: run(suite, env, isolated), chosen))
    for suite, code, output, took in ran:
        name = " ".join(suite)
        if code != 0:
            print(f"RERUN {name}, which failed with:\n{output}", flush=True)
            suite, code, output, took = run(suite, env, isolated)
        tests = len(re.findall(r"^ok ", output, re.M))
        passed += tests
        moments += re.findall(r"^MOMENT (.*)$", output, re.M)
        for line in re.findall(r"^(?:SKIPPED|LATE) .*$", output, re.M):
            print(line)
        if code != 0:
            failed.append(name)
            print(f"{output}\nFAILED {name} ({took:.0f} s)", flush=True)
        else:
            print(f"{name}: {tests} tests, {took:.0f} s", flush=True)
    if args.moments:
        pathlib.Path(args.moments).write_text("".join(f"{line}\n" for line in moments))
    print(f"{passed} passed, {len(failed)} suites failed {failed or ''}".rstrip())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
