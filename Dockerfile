# The image contains the bundle of the npm package, and the packages that the server needs. It brings the Node version that
# package.json pins for x64, so npm need not.
FROM node:26.12.1-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY bin ./bin
COPY scripts ./scripts
COPY src ./src
# The version of a development build has the commit, which only the clone knows.
ARG COMMIT
RUN echo "$COMMIT" > src/commit && node bin/node.js scripts/build-package.ts && npm prune --omit=dev --omit=optional

FROM node:26.12.1-slim
# Node needs libatomic.
RUN apt-get update && apt-get install --yes --no-install-recommends libatomic1 && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    REDIRECT_HOST=0.0.0.0 \
    DATABASE_URL=sqlite:/data/waymark.db
WORKDIR /app
RUN mkdir -p /data /app/node_modules/.cache/waymark && chown node:node /data /app/node_modules/.cache/waymark \
  && ln -s /app/bin/waymark.js /usr/local/bin/waymark
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE NOTICE ./
COPY --chmod=755 bin ./bin
COPY docs/openapi.json ./docs/
COPY docs/html ./docs/html
# The user `node`, as a number: Kubernetes can't verify that a name is not root.
USER 1000:1000
# A first start, on a temporary database, stores compiled code in the image, whose files may be read-only later. The server
# is stopped once it listens, however long the start takes.
RUN mkdir /tmp/warm-up \
  && { PORT=0 OPS_PORT=0 REDIRECT_PORT=0 DATABASE_URL=sqlite:/tmp/warm-up/waymark.db \
         node bin/waymark.js start > /tmp/warm-up/log 2>&1 & } \
  && until grep -qs 'is listening' /tmp/warm-up/log; do kill -0 $! && sleep 0.1 || exit 1; done \
  && kill -TERM $! && wait $! \
  && node bin/waymark.js version \
  && rm -r /tmp/warm-up
VOLUME /data
EXPOSE 3000 3080
# Follows OPS_PORT or, if that is 0, PORT.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
  CMD ["node", "--import", "./dist/process/compile-cache.js", "dist/process/health-check.js"]
# The server replaces this process, so it gets the signals.
CMD ["node", "bin/waymark.js", "start"]
