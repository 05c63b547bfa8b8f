#!/bin/bash
echo "hello, ${1:-world}"
exit 3
