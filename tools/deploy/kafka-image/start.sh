#!/bin/sh
# KAFKA_NODE_ID=1 is the property node.id=1, as in the image apache/kafka.
set -eu
properties=/opt/kafka/server.properties
env | awk -F= '/^KAFKA_/ && $1 != "KAFKA_HEAP_OPTS" {
  name = tolower(substr($1, 7)); gsub("_", ".", name); print name "=" substr($0, length($1) + 2)
}' > "$properties"
export JAVA_TOOL_OPTIONS="${KAFKA_HEAP_OPTS:-} -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
java -cp '/opt/kafka/libs/*' kafka.tools.StorageTool format --ignore-formatted \
  --cluster-id 5L6g3nShT-eMCtK--X86sw --config "$properties"
exec java -cp '/opt/kafka/libs/*' kafka.Kafka "$properties"
