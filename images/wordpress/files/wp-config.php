<?php
/**
 * The configuration of WordPress, from the environment of the container.
 */

/**
 * Returns a variable of the environment, or the default.
 */
function strata_env( $name, $default ) {
	$value = getenv( $name );
	return false === $value ? $default : $value;
}

define( 'DB_NAME', strata_env( 'WORDPRESS_DB_NAME', 'wordpress' ) );
define( 'DB_USER', strata_env( 'WORDPRESS_DB_USER', 'wordpress' ) );
define( 'DB_PASSWORD', strata_env( 'WORDPRESS_DB_PASSWORD', '' ) );
define( 'DB_HOST', strata_env( 'WORDPRESS_DB_HOST', 'mysql' ) );
define( 'DB_CHARSET', strata_env( 'WORDPRESS_DB_CHARSET', 'utf8mb4' ) );
define( 'DB_COLLATE', strata_env( 'WORDPRESS_DB_COLLATE', '' ) );

// The keys of cookies. Without them in the environment they are derived from the password of the database, which every
// pod of the site has and no visitor knows: so logins stay valid when a pod is replaced.
foreach ( array( 'AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY', 'AUTH_SALT', 'SECURE_AUTH_SALT', 'LOGGED_IN_SALT', 'NONCE_SALT' ) as $strata_key ) {
	define( $strata_key, strata_env( 'WORDPRESS_' . $strata_key, hash_hmac( 'sha256', $strata_key, DB_NAME . DB_PASSWORD ) ) );
}

$table_prefix = strata_env( 'WORDPRESS_TABLE_PREFIX', 'wp_' );

define( 'WP_DEBUG', (bool) strata_env( 'WORDPRESS_DEBUG', '' ) );

// A proxy in front of the pod ends TLS.
if ( isset( $_SERVER['HTTP_X_FORWARDED_PROTO'] ) && false !== strpos( $_SERVER['HTTP_X_FORWARDED_PROTO'], 'https' ) ) {
	$_SERVER['HTTPS'] = 'on';
}

// WORDPRESS_CONFIG_EXTRA is PHP code, such as define( 'WP_HOME', 'https://example.com' );
$strata_extra = strata_env( 'WORDPRESS_CONFIG_EXTRA', '' );
if ( '' !== $strata_extra ) {
	eval( $strata_extra );
}

if ( ! defined( 'ABSPATH' ) ) {
	define( 'ABSPATH', __DIR__ . '/' );
}
require_once ABSPATH . 'wp-settings.php';
