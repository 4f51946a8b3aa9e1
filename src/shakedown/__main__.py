"""python -m shakedown"""

from .cli.app import main

main()
