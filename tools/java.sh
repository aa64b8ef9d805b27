#!/bin/sh
# Sees to it that there is a Java that Spark can use, 17 or newer. Silent where there is one; where there is none and
# apt-get can be used as root, installs Debian's headless runtime; else says in one line what to install.

java=java
[ -z "$JAVA_HOME" ] || java=$JAVA_HOME/bin/java

enough() {
    # `java -version` says: openjdk version "17.0.15" 2025-04-15; before Java 9: java version "1.8.0_412".
    version=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9][^"]*\)".*/\1/p' | head -n 1)
    major=${version%%[!0-9]*}
    [ "${major:-0}" -ge 17 ]
}

enough && exit 0
if [ -z "$JAVA_HOME" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing a Java runtime for Spark ..."
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >/dev/null 2>&1
    for package in openjdk-17-jre-headless default-jre-headless; do
        apt-get install -qq -y --no-install-recommends "$package" >/dev/null 2>&1
        hash -r
        enough && exit 0
    done
fi
found=${version:+, and Java $version was found}
echo "Spark needs Java 17 or newer${found}: install it (Debian: apt install openjdk-17-jre-headless), or set JAVA_HOME" >&2
exit 1
