"""How each agent is started, and which keys and screens it has. One file an agent."""
