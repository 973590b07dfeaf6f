"""Questions about a model by name: what its heads do over many texts, and which of them it needs."""
