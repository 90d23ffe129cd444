"""What several pages use: state, dialogs, charts, components."""
