# Nothing is built: the source is what runs. The image brings the Node that package.json pins, so npm need not.
FROM node:26.10.0-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --omit=optional

FROM node:26.10.0-slim
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    REDIRECT_HOST=0.0.0.0 \
    DATABASE_URL=sqlite:/data/waymark.db
WORKDIR /app
RUN mkdir -p /data /app/node_modules/.cache/waymark && chown node:node /data /app/node_modules/.cache/waymark
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json LICENSE NOTICE ./
COPY src ./src
USER node
# A first start, on a temporary database, stores compiled code in the image, whose files may be read-only later. The server
# is stopped once it listens, however long the start takes.
RUN mkdir /tmp/warm-up \
  && { PORT=0 OPS_PORT=0 REDIRECT_PORT=0 DATABASE_URL=sqlite:/tmp/warm-up/waymark.db \
         node --import ./src/process/compile-cache.js src/main.js > /tmp/warm-up/log & } \
  && until grep -qs 'is listening' /tmp/warm-up/log; do kill -0 $! && sleep 0.1 || exit 1; done \
  && kill -TERM $! && wait $! \
  && node --import ./src/process/compile-cache.js src/cli.js --version \
  && rm -r /tmp/warm-up
VOLUME /data
EXPOSE 3000 3080
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
  CMD ["node", "--import", "./src/process/compile-cache.js", "src/process/health-check.ts"]
# As `npm start` does it, without a shell or npm in between: signals reach the server.
CMD ["node", "--max-semi-space-size=8", "--heap-growing-percent=50", "--import", "./src/process/compile-cache.js", "src/main.js"]
