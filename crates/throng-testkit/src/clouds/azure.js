// Starts Azurite's blob service on a free port, makes the container `people`, prints the port, and exits when standard input is closed.

const crypto = require("crypto");
const http = require("http");

// The account of every emulator, which is no secret.
const account = "devstoreaccount1";
const key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

function makeContainer(port, name) {
  const headers = { "x-ms-date": new Date().toUTCString(), "x-ms-version": "2021-08-06", "Content-Length": 0 };
  const signed = ["PUT", ...Array(11).fill(""), `x-ms-date:${headers["x-ms-date"]}`, "x-ms-version:2021-08-06"];
  signed.push(`/${account}/${account}/${name}`, "restype:container");
  const signature = crypto.createHmac("sha256", Buffer.from(key, "base64")).update(signed.join("\n")).digest("base64");
  headers.Authorization = `SharedKey ${account}:${signature}`;
  const path = `/${account}/${name}?restype=container`;
  const request = http.request({ host: "127.0.0.1", port, method: "PUT", path, headers }, (answer) => {
    process.stdout.write(answer.statusCode === 201 ? `${port}\n` : "no container\n");
    answer.resume();
  });
  request.end();
}

console.log = (line) => {
  const told = /successfully listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(line);
  if (told) makeContainer(told[1], "people");
};
process.stdin.on("end", () => process.exit(0)).resume();
process.argv = [process.argv[0], "azurite-blob", "--inMemoryPersistence", "--blobPort", "0"];
process.argv.push("--silent", "--disableTelemetry", "--skipApiVersionCheck");
require("azurite/dist/src/blob/main");
