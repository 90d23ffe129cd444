"""The settings page: models, limits, tools, the installation."""
