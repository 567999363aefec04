/**
 * Node's modules that the shipper uses, without what an import of them loads: importing reads every export of a module,
 * and some exports load others, such as the HTTP client of the web, which takes 12 MB, or the reader of terminals.
 */
export const fs = process.getBuiltinModule('node:fs');
export const http = process.getBuiltinModule('node:http');
export const https = process.getBuiltinModule('node:https');
export const zlib = process.getBuiltinModule('node:zlib');
