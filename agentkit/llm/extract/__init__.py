"""The parts of the offline model: read the request, cut passages into sentences, rank them, compose a cited answer."""
