"""The process from which those that eat are forked: all is imported, and there are no threads."""

from tests.linear.eaters import EATERS
from tests.linear.feeding import serve

if __name__ == "__main__":
    serve(EATERS)
