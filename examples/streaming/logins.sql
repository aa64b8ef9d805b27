-- Three or more failed logins of a user, then one that succeeds, all within ten minutes.
SELECT count(f) AS failures, s.address AS address
FROM logins
WHERE (failed AS f){3,} ; succeeded AS s
PARTITION BY user
WITHIN 10 min
