package cloud_test

// attacks are statements that must fail for a user. $ID is the ID of a connection of the other team, and $ROOT the
// server's own user.
var attacks = []string{
	// The other team's data.
	"SELECT * FROM hr.salaries", "SELECT * FROM HR.salaries", "SELECT * FROM `hr/main`.salaries", "SELECT * FROM `hr@main`.salaries", "TABLE hr.salaries",
	"SELECT * FROM hr.salaries AS OF 'HEAD'", "SELECT (SELECT MAX(amount) FROM hr.salaries)", "WITH x AS (SELECT * FROM hr.salaries) SELECT * FROM x",
	"SELECT * FROM t WHERE id IN (SELECT id FROM hr.salaries)", "SELECT * FROM hr.dolt_log", "SELECT * FROM hr.dolt_history_salaries", "SELECT * FROM `hr/main`.dolt_diff",
	"INSERT INTO hr.salaries VALUES (2, 2)", "REPLACE INTO hr.salaries VALUES (1, 0)", "UPDATE hr.salaries SET amount = 0", "DELETE FROM hr.salaries", "TRUNCATE TABLE hr.salaries",
	"UPDATE t, hr.salaries SET hr.salaries.amount = 0", "DELETE hr.salaries FROM hr.salaries JOIN t", "INSERT INTO t SELECT id, amount FROM hr.salaries",
	"CREATE TABLE copy AS SELECT * FROM hr.salaries", "CREATE TABLE copy LIKE hr.salaries", "USE hr", "USE `hr/main`", "USE `hr@main`", "USE HR",
	"LOCK TABLES hr.salaries WRITE", "EXPLAIN SELECT * FROM hr.salaries", "ANALYZE TABLE hr.salaries", "CHECKSUM TABLE hr.salaries",
	"SELECT * FROM dolt_query_diff('SELECT * FROM hr.salaries', 'SELECT 1')", "SELECT * FROM dolt_query_diff('SELECT 1', 'SELECT * FROM hr.salaries')",
	// The other team's tables and database.
	"CREATE TABLE hr.x (id INT)", "ALTER TABLE hr.salaries ADD COLUMN x INT", "DROP TABLE hr.salaries", "RENAME TABLE hr.salaries TO web.stolen", "RENAME TABLE web.t TO hr.t",
	"ALTER TABLE web.t RENAME TO hr.t", "CREATE INDEX i ON hr.salaries (amount)", "CREATE VIEW hr.v AS SELECT 1", "CREATE TRIGGER hr.g BEFORE INSERT ON hr.salaries FOR EACH ROW SET NEW.amount = 0",
	"CREATE PROCEDURE hr.p() SELECT 1", "DROP DATABASE hr", "DROP DATABASE IF EXISTS HR", "DROP SCHEMA hr", "DROP DATABASE `hr/main`", "ALTER DATABASE hr COLLATE utf8mb4_bin",
	"CREATE DATABASE squat", "CREATE SCHEMA IF NOT EXISTS squat", "CREATE DATABASE `%2e%2e%2f%2e%2e%2fhr%2fdata%2fsalaries`", "CREATE DATABASE `web%2f..%2fhr`", "CREATE DATABASE `%2e%2fhr`",
	"DROP DATABASE mysql", "DROP DATABASE information_schema",
	// Metadata of the other team's database.
	"SHOW TABLES FROM hr", "SHOW FULL TABLES FROM hr", "SHOW COLUMNS FROM hr.salaries", "DESCRIBE hr.salaries", "SHOW INDEX FROM hr.salaries", "SHOW CREATE TABLE hr.salaries",
	"SHOW CREATE DATABASE hr", "SHOW GRANTS FOR 'hr'@'%'", "SHOW PROCESSLIST", "SHOW FULL PROCESSLIST", "SELECT * FROM mysql.user", "SELECT * FROM mysql.db",
	"SELECT * FROM information_schema.processlist", "SELECT `info` FROM INFORMATION_SCHEMA.`PROCESSLIST` p", "SELECT (SELECT COUNT(*) FROM t, information_schema.processlist)",
	"CREATE VIEW v AS SELECT * FROM information_schema.processlist", "INSERT INTO t SELECT id, user FROM information_schema.processlist",
	// Users and privileges.
	"GRANT ALL PRIVILEGES ON hr.* TO 'web'@'%'", "GRANT SELECT ON hr.salaries TO 'web'@'%'", "GRANT ALL PRIVILEGES ON *.* TO 'web'@'%'", "GRANT 'hr'@'%' TO 'web'@'%'", "GRANT 'root'@'%' TO 'web'@'%'",
	"GRANT $ROOT TO 'web'@'%'", "GRANT ALL PRIVILEGES ON web.* TO 'hr'@'%'", "GRANT EXECUTE ON PROCEDURE web.dolt_backup TO 'web'@'%'", "GRANT PROXY ON 'hr'@'%' TO 'web'@'%'",
	"REVOKE ALL PRIVILEGES ON hr.* FROM 'hr'@'%'", "REVOKE ALL PRIVILEGES, GRANT OPTION FROM 'hr'@'%'", "CREATE USER 'third'@'%'", "DROP USER 'hr'@'%'", "DROP USER IF EXISTS 'hr'@'%', $ROOT",
	"ALTER USER 'hr'@'%' IDENTIFIED BY 'taken'", "ALTER USER $ROOT IDENTIFIED BY 'taken'", "RENAME USER 'hr'@'%' TO 'web2'@'%'", "SET PASSWORD FOR 'hr'@'%' = 'taken'", "CREATE ROLE r", "DROP ROLE 'hr'@'%'",
	"SET ROLE 'hr'@'%'", "INSERT INTO mysql.db (Host, Db, User) VALUES ('%', 'hr', 'web')", "UPDATE mysql.user SET Super_priv = 'Y'", "DELETE FROM mysql.user",
	// The server.
	"KILL $ID", "KILL CONNECTION $ID", "KILL QUERY $ID", "SHUTDOWN", "RESTART", "FLUSH PRIVILEGES", "FLUSH TABLES WITH READ LOCK", "FLUSH BINARY LOGS", "RESET MASTER", "RESET PERSIST",
	"SET GLOBAL read_only = 1", "SET @@GLOBAL.max_connections = 1", "SET GLOBAL TRANSACTION READ ONLY", "SET GLOBAL event_scheduler = ON", "SET GLOBAL local_infile = 1", "SET GLOBAL secure_file_priv = ''",
	"SET GLOBAL dolt_replication_remote_url_template = 'file:///tmp/{database}'", "SET GLOBAL dolt_replicate_to_remote = 'origin'", "SET GLOBAL hr_default_branch = 'x'", "SET GLOBAL dolt_transaction_commit = 1",
	"SET PERSIST max_connections = 1", "SET PERSIST_ONLY wait_timeout = 1", "SET @@PERSIST.net_read_timeout = 1", "SET @@PERSIST_ONLY.net_write_timeout = 1", "SET PERSIST secure_file_priv = ''", "SET PERSIST_ONLY secure_file_priv = ''",
	"SET SESSION secure_file_priv = ''", "SET PERSIST_ONLY dolt_read_replica_remote = 'x'", "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=1", "START REPLICA", "STOP REPLICA", "RESET REPLICA", "SHOW REPLICA STATUS",
	"BINLOG 'AAAA'", "SHOW BINARY LOGS", "INSTALL PLUGIN p SONAME 'p.so'", "CREATE FUNCTION f RETURNS STRING SONAME 'f.so'", "INSTALL COMPONENT 'file://x'",
	// Files and the network.
	"SELECT LOAD_FILE('/etc/passwd')", "SELECT load_file('/etc/passwd')", "LOAD DATA INFILE '/etc/passwd' INTO TABLE t", "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t",
	"SELECT 1 INTO OUTFILE '$DIR/out'", "SELECT 1 INTO DUMPFILE '$DIR/out'", "SELECT 1 INTO OUTFILE '$DIR/sql/strata-local/strata/files/out'", "SELECT 1 INTO OUTFILE '$DIR/sql/strata-local/strata/files.out'",
	"SELECT 1 INTO OUTFILE '$DIR/sql/strata-local/strata/data/out'", "SELECT 1 INTO DUMPFILE '$DIR/sql/strata-local/strata/tmp/out'", "SELECT 1 INTO OUTFILE 'out'", "SELECT 1 INTO OUTFILE ''", "SELECT 1 INTO OUTFILE '/dev/null/none/x'",
	"CALL dolt_clone('file://$DIR', 'copy')", "CALL dolt_remote('add', 'origin', 'file://$DIR/out')", "CALL dolt_remote('add', 'origin', 'http://127.0.0.1:1/x')", "CALL dolt_push('origin', 'main')", "CALL dolt_fetch()", "CALL dolt_pull('origin')",
	"CALL dolt_backup('sync-url', 'file://$DIR/out')", "CALL dolt_backup('restore', 'file://$DIR/out', 'x')", "CALL dolt_undrop('hr')", "CALL dolt_undrop()", "CALL dolt_purge_dropped_databases()", "CALL dolt_gc()", "CALL dolt_thread_dump()",
	"CALL dolt_stats_stop()", "CALL dolt_stats_purge()", "CALL dolt_stats_restart()", "CALL dolt_update_column_tag('t', 'id', '1')", "CALL dclone('file://$DIR', 'copy')", "CALL hr.dolt_reset('--hard')", "CALL `hr/main`.dolt_commit('-Am', 'x')",
	// A table of the whole server contains the permissions to write to branches of databases.
	"INSERT INTO dolt_branch_control VALUES ('hr', '%', '%', '%', 'read')", "DELETE FROM dolt_branch_control", "UPDATE dolt_branch_control SET permissions = 'read'",
	"INSERT INTO dolt_branch_namespace_control VALUES ('%', '%', 'nobody', '%')",
}

// roundabouts are attacks in several statements. A single statement may succeed, but the other team's data must not
// change or leak.
var roundabouts = map[string][]string{
	"view":               {"CREATE VIEW v AS SELECT * FROM hr.salaries", "SELECT * FROM v", "SELECT * FROM web.v"},
	"procedure":          {"CREATE PROCEDURE p1() DROP DATABASE hr", "CALL p1()", "CREATE PROCEDURE p2() SELECT * FROM hr.salaries", "CALL p2()"},
	"definer":            {"CREATE DEFINER=$ROOT PROCEDURE p3() DROP TABLE hr.salaries", "CALL p3()", "CREATE DEFINER=$ROOT VIEW v3 AS SELECT * FROM hr.salaries", "SELECT * FROM v3"},
	"definer's security": {"CREATE DEFINER=$ROOT SQL SECURITY DEFINER VIEW v4 AS SELECT * FROM hr.salaries", "SELECT * FROM v4"},
	"trigger":            {"CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW DELETE FROM hr.salaries", "INSERT INTO t VALUES (7, 'x')"},
	"event":              {"CREATE DEFINER=$ROOT EVENT e1 ON SCHEDULE AT CURRENT_TIMESTAMP DO DROP DATABASE hr", "CREATE DEFINER='event_scheduler'@'localhost' EVENT e2 ON SCHEDULE EVERY 1 SECOND DO DELETE FROM hr.salaries"},
	"prepared":           {"PREPARE s FROM 'DROP DATABASE hr'", "EXECUTE s", "PREPARE r FROM 'SELECT * FROM hr.salaries'", "EXECUTE r"},
	"foreign key":        {"CREATE TABLE f (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES hr.salaries (id) ON DELETE CASCADE)"},
	"settings":           {"CREATE PROCEDURE p4() SET GLOBAL max_connections = 1", "CALL p4()", "CREATE PROCEDURE p5() SET PERSIST_ONLY max_connections = 1", "CALL p5()"},
	"connections":        {"CREATE PROCEDURE p8() SELECT * FROM information_schema.processlist", "CALL p8()", "USE information_schema", "SELECT * FROM processlist", "USE web"},
	"files":              {"CREATE PROCEDURE p6() SELECT 1 INTO OUTFILE '$DIR/out'", "CALL p6()", "CREATE VIEW v6 AS SELECT LOAD_FILE('/etc/passwd')", "SELECT * FROM v6"},
	"branches":           {"CALL dolt_checkout('-b', 'x')", "CALL dolt_branch('hr/main')", "USE `web/x`", "DROP DATABASE hr", "SELECT * FROM hr.salaries", "CALL dolt_checkout('main')"},
	"tables of Dolt":     {"INSERT INTO dolt_schemas VALUES ('view', 'v7', 'CREATE VIEW v7 AS SELECT * FROM hr.salaries', NULL, NULL)", "SELECT * FROM v7", "INSERT INTO dolt_procedures VALUES ('p7', 'CREATE PROCEDURE p7() DROP DATABASE hr', NOW(), NOW(), NULL)", "CALL p7()"},
	"sessions":           {"SET dolt_override_schema = 'hr'", "SET SESSION dolt_show_branch_databases = 1", "SHOW DATABASES", "SET foreign_key_checks = 0", "DROP TABLE hr.salaries"},
	"no database":        {"USE information_schema", "DROP DATABASE hr", "CREATE DATABASE squat", "SELECT * FROM hr.salaries", "USE mysql", "USE web"},
}
