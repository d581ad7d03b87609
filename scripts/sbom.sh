#!/bin/sh
# Prints the software bill of materials (SPDX) of the npm package in the file $1. It describes the package and not the
# repository, where `npm sbom --omit=dev` leaves out packages that a development dependency needs as well.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
tar -xzf "$1" -C "$folder"
cd "$folder/package"
npm pkg delete devDependencies
npm sbom --sbom-format=spdx --package-lock-only
