"""The process from which those that eat are forked: it has imported everything, and has no threads."""

from tests.linear.eaters import EATERS
from tests.linear.feeding import serve

if __name__ == "__main__":
    serve(EATERS)
