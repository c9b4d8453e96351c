# One image per app: docker build --build-arg APP=bridge|ingest|sandbox|terminal .
# The stage runtime has Node, the libraries that it is linked with and the app; no shell, no package manager.
ARG NODE_IMAGE=node:24-slim
ARG APP=bridge

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --include=dev --no-audit --no-fund
COPY nest-cli.json tsconfig.json .swcrc rolldown.config.mjs ./
COPY apps apps
COPY libs libs
ARG APP
RUN test -f "apps/${APP}/src/main.ts" || { echo "APP=${APP}: there is no apps/${APP}"; exit 1; }
COPY tools/process/exit-until-taken-over.mjs tools/process/
COPY deploy/docker/healthcheck.mjs ./
COPY docs/schemas docs/schemas
# The other apps stay behind, but the bridge's image has the commands, also under the path they had before.
# main.js gives the image one entry whatever the app is. The kernel drops signals that process 1 does not listen to: one
# that comes while the app is being loaded would be lost, and the container killed in the end.
# What is copied from a clone keeps its modes, and under umask 027 nobody but its owner may read it.
RUN npx nest build bridge \
  && if [ "${APP}" = terminal ]; then npx vite build apps/terminal/page; fi \
  && find dist/apps -mindepth 1 -maxdepth 1 ! -name "${APP}" ! -name cli -exec rm -r {} + \
  && case "${APP}" in \
    bridge) echo "import '../../cli/src/main.js';" > dist/apps/bridge/src/cli.js ;; \
    cli) ;; \
    *) rm -r dist/apps/cli ;; \
  esac \
  && npx rolldown --config rolldown.config.mjs \
  && cp tools/process/exit-until-taken-over.mjs dist \
  && printf '%s\n' "import { exitUntilTakenOver } from './exit-until-taken-over.mjs';" 'exitUntilTakenOver();' \
    "await import('./apps/${APP}/src/main.js');" > dist/main.js \
  && chmod -R a+rX dist docs healthcheck.mjs package.json

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The one optional package is TypeScript, for a plugin of the compiler. Types, maps and texts are not read at run time.
# With --omit=dev, npm sbom also leaves out packages of production that one of development needs too.
RUN npm ci --omit=dev --omit=optional --no-audit --no-fund \
  && npm pkg delete devDependencies \
  && npm sbom --sbom-format=cyclonedx > sbom.cdx.json \
  && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \
    -o -iname '*.md' ! -iname 'licen[cs]e*' \) -delete
# Root file system of the image. The numeric user is one that Kubernetes can see not to be root.
# Before 2.34, glibc looks host names up with libraries that ldd does not show.
RUN node=$(command -v node) \
  && libc=$(ldd "${node}" | grep -o '/[^ ]*/libc\.so\.6') \
  && mkdir -p /root-fs/etc /root-fs/app /root-fs/usr/local/bin \
  && mkdir -m 1777 /root-fs/tmp \
  && cp -L "${node}" /root-fs/usr/local/bin/node \
  && { ldd "${node}" | grep -o '/[^ ]*'; find "${libc%/*}/" -regex '.*/lib\(nss_dns\|nss_files\|resolv\)\.so\.2'; } \
  | while read -r library; do \
    mkdir -p "/root-fs$(dirname "${library}")" && cp -L "${library}" "/root-fs${library}"; \
  done \
  && echo 'node:x:1000:1000::/tmp:/sbin/nologin' > /root-fs/etc/passwd \
  && echo 'node:x:1000:' > /root-fs/etc/group \
  && echo 'hosts: files dns' > /root-fs/etc/nsswitch.conf

FROM scratch AS runtime
ENV NODE_ENV=production PATH=/usr/local/bin
WORKDIR /app
COPY --from=dependencies /root-fs /
COPY --from=dependencies /app/node_modules node_modules
COPY --from=dependencies /app/sbom.cdx.json ./
COPY --from=build /app/package.json /app/healthcheck.mjs ./
COPY --from=build /app/dist dist
USER 1000:1000

# Start options as in package.json; node itself is the process that gets SIGTERM, not a shell around it.
FROM runtime AS bridge
# which it registers
COPY --from=build /app/docs docs
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "healthcheck.mjs", "BRIDGE_HTTP_PORT", "3000"]
# These options bound the heap and its garbage, see docs/decisions/0038-bounded-heap.md; NODE_OPTIONS takes the second alone.
CMD ["node", "--enable-source-maps", "--heap-growing-percent=40", "--max-semi-space-size=16", "--no-allocation-site-pretenuring", "dist/main.js"]

FROM runtime AS terminal
EXPOSE 3200
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "healthcheck.mjs", "TERMINAL_HTTP_PORT", "3200"]
CMD ["node", "--enable-source-maps", "dist/main.js"]

FROM runtime AS ingest
EXPOSE 3300
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "healthcheck.mjs", "INGEST_HTTP_PORT", "3300", "INGEST_TLS_CERT_FILE"]
# The option spares a tenth of the CPU under load, see docs/decisions/0047-ingest.md.
CMD ["node", "--enable-source-maps", "--max-semi-space-size=32", "dist/main.js"]

FROM runtime AS sandbox
EXPOSE 3100
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "healthcheck.mjs", "SANDBOX_HTTP_PORT", "3100"]
CMD ["node", "--enable-source-maps", "dist/main.js"]

FROM ${APP}
