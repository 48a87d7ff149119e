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
	# index.php comes last, so that an interrupted copy starts again.
	GLOBIGNORE=/usr/src/wordpress/index.php # It also makes * match hidden files.
	if [ -e wp-config.php ]; then
		GLOBIGNORE+=:/usr/src/wordpress/wp-config.php # The user's own stays.
	fi
	cp --recursive /usr/src/wordpress/* .
	cp /usr/src/wordpress/index.php .
fi

exec "$@"
