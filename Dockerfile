# One image per app: docker build --build-arg APP=bridge|sandbox|terminal .
ARG NODE_IMAGE=node:24-slim

FROM ${NODE_IMAGE} AS build
ARG APP=bridge
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --include=dev --no-audit --no-fund
COPY nest-cli.json tsconfig.json .swcrc ./
COPY apps apps
COPY libs libs
RUN test -f "apps/${APP}/src/main.ts" || { echo "APP=${APP}: there is no apps/${APP}"; exit 1; }
# The other apps stay behind, but the bridge's image has the commands, also under the path they had before.
# main.js gives the image one entry whatever the app is.
RUN npx nest build bridge \
  && if [ "${APP}" = terminal ]; then npx vite build apps/terminal/page; fi \
  && find dist/apps -mindepth 1 -maxdepth 1 ! -name "${APP}" ! -name cli -exec rm -r {} + \
  && case "${APP}" in \
    bridge) echo "import '../../cli/src/main.js';" > dist/apps/bridge/src/cli.js ;; \
    cli) ;; \
    *) rm -r dist/apps/cli ;; \
  esac \
  && echo "import './apps/${APP}/src/main.js';" > dist/main.js

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --no-audit --no-fund

FROM ${NODE_IMAGE}
ENV NODE_ENV=production
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json ./
COPY --from=build /app/dist dist
USER node
# node itself is the process that gets SIGTERM, not a shell around it
# The two options bound the heap, see docs/decisions/0038-bounded-heap.md; NODE_OPTIONS does not take the first.
CMD ["node", "--enable-source-maps", "--heap-growing-percent=40", "--max-semi-space-size=16", "dist/main.js"]
