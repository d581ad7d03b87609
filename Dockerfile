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
# A first start, on a database that is thrown away, keeps what it compiles in the image, whose files may be read-only later.
RUN PORT=0 OPS_PORT=0 REDIRECT_PORT=0 DATABASE_URL=sqlite:/tmp/warm-up/waymark.db timeout --preserve-status --signal=TERM 3 \
      node --import ./src/process/compile-cache.js src/main.js > /dev/null \
  && node --import ./src/process/compile-cache.js src/cli.js --version \
  && rm -r /tmp/warm-up
VOLUME /data
EXPOSE 3000 3080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "const { OPS_HOST = '127.0.0.1', OPS_PORT = '3090' } = process.env; fetch(`http://${OPS_HOST === '0.0.0.0' ? '127.0.0.1' : OPS_HOST}:${OPS_PORT}/health/ready`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# As `npm start` does it, without a shell or npm in between: signals reach the server.
CMD ["node", "--max-semi-space-size=8", "--heap-growing-percent=50", "--import", "./src/process/compile-cache.js", "src/main.js"]
