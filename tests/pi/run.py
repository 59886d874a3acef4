#!/usr/bin/env python3
"""Runs the suites against one Pi: two at a time, each in a process of its own, with a deadline.

A suite that fails is run once more. If it passes then it counts as passed and is named as rerun, so that a
test that is not steady is seen without being in the way.
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
SUITE_SECONDS = 420


def run(suite, env):
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, str(ROOT / "suites" / f"{suite}.py")], env=env, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True)
    try:
        output, _ = process.communicate(timeout=SUITE_SECONDS)
        code = process.returncode
    except subprocess.TimeoutExpired:
        # Asked to end, the suite ends what it started, terminal servers too; the group is what is left of it.
        process.terminate()
        try:
            output, _ = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            output, _ = process.communicate()
        output += f"\nFAILED {suite}: not done after {SUITE_SECONDS} s\n"
        code = 1
    return suite, code, output, time.monotonic() - began


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pi", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("suites", nargs="*")
    args = parser.parse_args()
    there = sorted(path.stem for path in (ROOT / "suites").glob("*.py"))
    suites = [suite for suite in there if suite in (args.suites or there)]
    # The longest begin first.
    suites.sort(key=lambda suite: suite not in ("modes", "requests", "ends"))
    env = {**os.environ, "KIT_PI": args.pi, "KIT_PROGRAM": args.program, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    name = pathlib.Path(args.pi).name
    passed, failed = 0, []
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        first = list(pool.map(lambda suite: run(suite, env), suites))
    for suite, code, output, took in first:
        if code != 0:
            print(f"RERUN {name} {suite}, which failed with:\n{output}", flush=True)
            suite, code, output, took = run(suite, env)
        tests = len(re.findall(r"^ok ", output, re.M))
        passed += tests
        for line in re.findall(r"^SKIPPED .*$", output, re.M):
            print(line)
        if code != 0:
            failed.append(suite)
            print(f"{output}\nFAILED {name} {suite} ({took:.0f} s)", flush=True)
        else:
            print(f"{name} {suite}: {tests} tests, {took:.0f} s", flush=True)
    print(f"{passed} passed, {len(failed)} suites failed {failed or ''}".rstrip())
    sys.exit(1 if failed else 0)


main()
