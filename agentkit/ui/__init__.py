"""What the pages share: state, drawing of events, citations, charts."""
