#!/bin/sh
# Makes what the processes of a cluster show each other, with openssl:
#
#   deploy/certificates.sh FOLDER NAME...
#
# FOLDER/ca.crt and ca.key (an authority), tls.crt and tls.key (a certificate for all of the names, in which `*.` stands for one
# part), and token. Names are those by which processes reach the scheduler and the executors; an address is written IP:127.0.0.1.
# An authority and a token that are there already are used again, so that certificates can be renewed before they end, after a year.
# Keep ca.key where no process of the cluster reads it.
set -eu
umask 077
folder=${1:?usage: $0 FOLDER NAME...}
shift
: "${1:?usage: $0 FOLDER NAME...}"
mkdir -p "$folder"
cd "$folder"

names=
for name in "$@"; do
    case $name in
        IP:*) ;;
        *) name=DNS:$name ;;
    esac
    names=${names:+$names,}$name
done
key="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
settings=$(mktemp)
trap 'rm -f "$settings" "$settings.csr"' EXIT
cat > "$settings" <<SETTINGS
[req]
distinguished_name = name
x509_extensions = authority
prompt = no
[name]
CN = throng-cluster
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
[process]
basicConstraints = CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
subjectAltName = $names
SETTINGS

[ -s ca.key ] || openssl req -x509 $key -days 3650 -config "$settings" -keyout ca.key -out ca.crt
openssl req -new $key -config "$settings" -keyout tls.key -out "$settings.csr"
openssl x509 -req -days 365 -in "$settings.csr" -CA ca.crt -CAkey ca.key -set_serial "0x$(openssl rand -hex 16)" \
    -extfile "$settings" -extensions process -out tls.crt
[ -s token ] || openssl rand -hex 32 > token
