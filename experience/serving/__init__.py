"""The library as a server of the Model Context Protocol, for agents whose host speaks it.

`answers` are the values that tools give, `tools` what an agent may ask for, `server` puts them behind the protocol, `running`
behind a pair of pipes or a port. Nothing that deletes, exports or changes the namespace is there to be asked for. Needs the
extra `mcp`, which only `server` and `running` import, inside functions, and `tools`, which only `server` imports.
"""
