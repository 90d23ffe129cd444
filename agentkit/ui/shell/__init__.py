"""What stands around the pages: start, navigation, style, and who may talk to the app."""
