"""AutoGen's ways to models: OpenAIWrapper and lists of configurations."""
