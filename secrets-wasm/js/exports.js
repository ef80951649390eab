// Exports of the package for all platforms.

export { isPlausibleToken, openBundle, openRecord, operations, parse, render, scan } from "./full/secrets.js";
export { Service, Session, verifyWebhook } from "./face.js";
