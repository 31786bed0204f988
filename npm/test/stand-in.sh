#!/bin/sh
# Stands for the binary where the npm package is tried: says what it was given, ends as it is told.
case $1 in
exit) exit "$2" ;;
kill) kill -"$2" $$ ;;
wait)
    trap 'echo "got TERM"; exit 7' TERM
    trap 'echo "got INT"; exit 8' INT
    echo ready
    while :; do sleep 0.05; done
    ;;
*) printf '%s\n' "$@" ;;
esac
