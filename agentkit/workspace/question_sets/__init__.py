"""Question sets that make themselves: drafted from documents."""
