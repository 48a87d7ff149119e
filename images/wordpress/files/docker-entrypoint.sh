#!/bin/bash
# Copies WordPress into an empty folder, and runs the command.
set -euo pipefail

# A value can come from a file: WORDPRESS_X_FILE names it. Workers of Apache cannot read each such file, so this script does.
for variable in $(compgen -e | grep '^WORDPRESS_.*_FILE$' || true); do
	target=${variable%_FILE}
	if [ -n "${!target:-}" ]; then
		echo "error: both $target and $variable are set: remove one of them" >&2
		exit 1
	fi
	export "$target=$(<"${!variable}")"
	unset "$variable"
done

if [[ "${1:-}" == apache2* ]] && [ ! -e index.php ] && [ ! -e wp-includes/version.php ]; then
	echo "WordPress is copied to $PWD" >&2
	# A copy that is interrupted starts again, because index.php comes last. The folder itself keeps its owner and mode.
	tar --create --file - --directory /usr/src/wordpress --exclude ./index.php . |
		tar --extract --file - --no-same-owner --no-same-permissions --no-overwrite-dir --skip-old-files
	cp /usr/src/wordpress/index.php index.php
fi

exec "$@"
