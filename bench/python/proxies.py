"""FastMCP's proxy and mcp-proxy between standard streams, as their own parts put together: what `mcp` measures beside
the gateway. Usage: proxies.py fastmcp|mcp-proxy COMMAND ARGS…"""

import asyncio
import sys


def fastmcp(command: str, args: list[str]) -> None:
    from fastmcp.client.transports import StdioTransport
    from fastmcp.server import create_proxy

    create_proxy(StdioTransport(command, args)).run(transport="stdio", show_banner=False, log_level="ERROR")


async def mcp_proxy(command: str, args: list[str]) -> None:
    from mcp.client.session import ClientSession
    from mcp.client.stdio import StdioServerParameters, stdio_client
    from mcp.server.stdio import stdio_server
    from mcp_proxy.proxy_server import create_proxy_server

    server = StdioServerParameters(command=command, args=args)
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        app = await create_proxy_server(session)
        async with stdio_server() as (incoming, outgoing):
            await app.run(incoming, outgoing, app.create_initialization_options())


if __name__ == "__main__":
    which, command, *rest = sys.argv[1:]
    if which == "fastmcp":
        fastmcp(command, rest)
    else:
        asyncio.run(mcp_proxy(command, rest))
