"""The Teams page: teams that people build by forms, see as a picture, try and keep."""
