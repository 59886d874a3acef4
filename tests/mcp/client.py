"""Drives `jig-session mcp` with the official Python SDK: an independent reading of the protocol.

Usage: client.py PROGRAM. Prints `ok`, or fails with what was wrong. The environment and the working folder are the
caller's, and a member labelled `other` is on the bus already.
"""

import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


def plain(answer):
    """The answer as it was on the wire: the SDK's own names differ between its versions."""
    return answer.model_dump(by_alias=True, mode="json")


async def call(session, **arguments):
    result = plain(await session.call_tool("session", arguments))
    content = result["structuredContent"]
    assert content is not None, result
    assert "unread" in content, content
    return result["isError"], content


async def main(program):
    server = StdioServerParameters(command=program, args=["mcp"], env=dict(os.environ), cwd=os.getcwd())
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        about = plain(await session.initialize())
        assert about["serverInfo"]["name"] == "jig-session", about
        assert about["instructions"] and len(about["instructions"]) <= 600

        tools = plain(await session.list_tools())["tools"]
        assert [tool["name"] for tool in tools] == ["session"], tools
        hints = tools[0]["annotations"]
        assert (hints["readOnlyHint"], hints["destructiveHint"], hints["openWorldHint"]) == (False, True, False)

        failed, status = await call(session, action="status")
        assert not failed and status["me"] is None and status["unread"] is None, status
        assert [member["label"] for member in status["members"]] == ["other"], status

        failed, joined = await call(session, action="join", label="python")
        assert not failed and joined["label"] == "python" and joined["joined"], joined

        failed, claimed = await call(session, action="claim", paths=["src/api", "@build"])
        assert not failed and claimed["claimed"] == ["src/api", "@build"], claimed

        failed, sent = await call(session, action="send", to="other", text="hello \u00e9\U0001f600", kind="ask")
        assert not failed and sent["recipients"][0]["queued"], sent

        failed, refused = await call(session, action="send", to="nobody", text="x")
        assert failed and refused["code"] == "not-found", refused

        failed, wrong = await call(session, action="explode")
        assert failed and wrong["code"] == "usage", wrong

        failed, mail = await call(session, action="inbox")
        assert not failed and mail["messages"] == [] and mail["unread"] == 0, mail

        failed, released = await call(session, action="release", paths=["src/api"])
        assert not failed and released["released"] == ["src/api"], released

        failed, status = await call(session, action="status")
        assert not failed and status["me"]["claims"] == 1, status
    print("ok")


asyncio.run(main(sys.argv[1]))
