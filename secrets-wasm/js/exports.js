// What the package gives, wherever it runs.

export { isPlausibleToken, openBundle, openRecord, operations, parse, render, scan } from "./full/secrets.js";
export { Service, Session, verifyWebhook } from "./face.js";
