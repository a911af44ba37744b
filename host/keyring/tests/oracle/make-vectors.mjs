// Makes vectors.json: keys and signatures of a hundred seeds from other libraries. Every value is computed by two libraries
// that share no code for it. The script fails if they differ. `cargo test` reads only the file.
//
//   npm ci --ignore-scripts && npm run vectors
//
// phrase, seed                 bip39 (noble) · ethers (OpenSSL of node)
// secp256k1 derivation         bip32 over tiny-secp256k1 (libsecp256k1) · ethers (noble)
// signatures over secp256k1    tiny-secp256k1 · ethers, tronweb
// Keccak-256                   js-sha3 · ethers, tronweb
// bytes of EVM transactions    viem · ethers
// digests of typed data        viem · ethers
// Ed25519 derivation           ed25519-hd-key (OpenSSL of node) · micro-key-producer (noble)
// Ed25519 signatures           tweetnacl · OpenSSL of node
// base58                       bs58 · ethers, tronweb

import assert from "node:assert/strict";
import { createHash, createPrivateKey, sign as signWithOpenSsl } from "node:crypto";
import { writeFileSync } from "node:fs";
import { BIP32Factory } from "bip32";
import bip39 from "bip39";
import bs58 from "bs58";
import * as edHd from "ed25519-hd-key";
import { HDNodeWallet, Mnemonic, Transaction, TypedDataEncoder, Wallet, encodeBase58, getAddress } from "ethers";
import jsSha3 from "js-sha3";
import { HDKey } from "micro-key-producer/slip10.js";
import * as ecc from "tiny-secp256k1";
import { TronWeb, utils as tron } from "tronweb";
import nacl from "tweetnacl";
import { hashTypedData, serializeTransaction } from "viem";

const CASES = 100;
const DOCUMENTS = 40;
const bip32 = BIP32Factory(ecc);

const hex = (bytes) => Buffer.from(bytes).toString("hex");
const bytes = (text) => Buffer.from(text.replace(/^0x/, ""), "hex");
const keccak = (data) => Buffer.from(jsSha3.keccak_256.arrayBuffer(data));
const sha256 = (data) => createHash("sha256").update(data).digest();

/** Returns the value on which both libraries agree. */
function agreed(one, other) {
  assert.equal(one, other);
  return one;
}

/** Returns pseudo-random bytes that are the same in every run. */
function noise(...names) {
  return sha256(`tenon keyring ${names.join(" ")}`);
}

function number(name, at, max) {
  return BigInt(`0x${hex(noise(name, at))}`) % max;
}

const MESSAGES = ["", "hello", "Zahlung über 10,50 € bestätigt ✓", "line one\nline two\n", "0xdeadbeef", "x".repeat(4096)];

const message = (at) => (at < MESSAGES.length ? MESSAGES[at] : `message ${at}: ${hex(noise("message", at)).slice(0, at % 64)}`);

const index = (at) => [0, 1, 2, 7, 2147483647][at] ?? Number(number("index", at, 2147483648n));

/** The last 20 bytes of the hash of the two coordinates. */
const account = (key) => keccak(Buffer.from(ecc.pointFromScalar(key, false)).subarray(1)).subarray(12);

function messageDigest(who, at) {
  const text = Buffer.from(message(at));
  return keccak(Buffer.concat([Buffer.from(`\x19${who} Signed Message:\n${text.length}`), text]));
}

function signRecoverable(digest, key) {
  const { signature, recoveryId } = ecc.signRecoverable(digest, key);
  return `0x${hex(signature)}${(27 + recoveryId).toString(16)}`;
}

function ethereum(at, seed, phrase) {
  const path = `m/44'/60'/0'/0/${index(at)}`;
  const node = bip32.fromSeed(seed).derivePath(path.slice(2));
  const wallet = new Wallet(HDNodeWallet.fromMnemonic(phrase, path).privateKey);
  const key = node.privateKey;
  const address = agreed(getAddress(`0x${hex(account(key))}`), wallet.address);
  const signed = agreed(signRecoverable(messageDigest("Ethereum", at), key), wallet.signMessageSync(message(at)));
  return {
    path,
    private: agreed(`0x${hex(key)}`, wallet.privateKey),
    address,
    message: signed,
    transaction: ethereumTransaction(at, key, wallet),
  };
}

/** Every shape in turn: contract creation, no data, long data, an access list, numbers of all lengths. */
function ethereumTransaction(at, key, wallet) {
  const slots = [...Array(at % 4)].map((_, slot) => `0x${hex(noise("slot", at, slot))}`);
  const entry = (name) => ({ address: getAddress(`0x${hex(noise(name, at)).slice(24)}`), storageKeys: slots });
  const fields = {
    type: 2,
    chainId: [1n, 56n, 8453n, 11155111n, number("chain", at, 1n << 53n) + 1n][at % 5],
    nonce: Number(number("nonce", at, 1n << BigInt(at % 32))),
    maxPriorityFeePerGas: number("tip", at, 1n << BigInt(at)),
    maxFeePerGas: number("fee", at, 1n << BigInt(at + 8)),
    gasLimit: number("gas", at, 1n << 25n),
    to: at % 10 === 9 ? null : getAddress(`0x${hex(noise("to", at)).slice(24)}`),
    value: number("value", at, 1n << BigInt(at + 20)),
    data: `0x${hex(noise("data", at)).slice(0, 2 * (at % 33)).repeat(at % 25 === 24 ? 40 : 1)}`,
    accessList: [...Array(at % 3)].map((_, which) => entry(`entry ${which}`)),
  };
  const transaction = Transaction.from(fields);
  const shape = { ...fields, type: "eip1559", chainId: Number(fields.chainId), gas: fields.gasLimit };
  const unsigned = agreed(serializeTransaction(shape), transaction.unsignedSerialized);
  const { signature, recoveryId } = ecc.signRecoverable(keccak(bytes(unsigned)), key);
  transaction.signature = wallet.signingKey.sign(transaction.unsignedHash);
  assert.equal(transaction.from, wallet.address);
  const [r, s] = [signature.slice(0, 32), signature.slice(32)].map((scalar) => `0x${hex(scalar)}`);
  const signed = agreed(serializeTransaction(shape, { r, s, yParity: recoveryId }), transaction.serialized);
  return {
    chain_id: `${fields.chainId}`,
    nonce: fields.nonce,
    max_priority_fee_per_gas: `${fields.maxPriorityFeePerGas}`,
    max_fee_per_gas: `${fields.maxFeePerGas}`,
    gas_limit: `${fields.gasLimit}`,
    to: fields.to,
    value: `${fields.value}`,
    data: fields.data.slice(2),
    access_list: fields.accessList.map(({ address, storageKeys }) => ({ address, slots: storageKeys.map((slot) => slot.slice(2)) })),
    unsigned: unsigned.slice(2),
    signed: signed.slice(2),
    hash: agreed(transaction.hash.slice(2), hex(keccak(bytes(signed)))),
  };
}

async function tronNetwork(at, seed, phrase, passphrase) {
  const path = `m/44'/195'/0'/0/${index(at)}`;
  const key = bip32.fromSeed(seed).derivePath(path.slice(2)).privateKey;
  const other = TronWeb.fromMnemonic(phrase, path, passphrase);
  const secret = agreed(`0x${hex(key)}`, other.privateKey).slice(2);
  const versioned = Buffer.concat([bytes("41"), account(key)]);
  const address = agreed(bs58.encode(Buffer.concat([versioned, sha256(sha256(versioned)).subarray(0, 4)])), other.address);
  const transaction = tronTransaction(at, hex(versioned));
  const signed = tron.crypto.signTransaction(secret, { ...transaction, signature: undefined }).signature[0];
  return {
    path,
    private: secret,
    address,
    hex: agreed(hex(versioned), TronWeb.address.toHex(address).toLowerCase()),
    message: agreed(signRecoverable(messageDigest("TRON", at), key), tron.message.signMessage(message(at), secret)),
    raw_data: transaction.raw_data_hex.toLowerCase(),
    id: agreed(hex(sha256(bytes(transaction.raw_data_hex))), transaction.txID),
    transaction: agreed(signRecoverable(bytes(transaction.txID), key), `0x${signed.replace(/^0x/, "").toLowerCase()}`),
  };
}

function tronTransaction(at, owner) {
  const value = { amount: Number(number("sun", at, 1n << 50n)) + 1, owner_address: owner, to_address: `41${hex(noise("to", at)).slice(24)}` };
  const contract = { parameter: { value, type_url: "type.googleapis.com/protocol.TransferContract" }, type: "TransferContract" };
  const raw_data = {
    contract: [contract],
    ref_block_bytes: hex(noise("block", at)).slice(0, 4),
    ref_block_hash: hex(noise("block", at)).slice(4, 20),
    expiration: 1700000060000 + at,
    timestamp: 1700000000000 + at,
  };
  const encoded = tron.transaction.txJsonToPb({ raw_data });
  return { raw_data, raw_data_hex: tron.transaction.txPbToRawDataHex(encoded), txID: tron.transaction.txPbToTxID(encoded).slice(2) };
}

function solana(at, seed) {
  const path = `m/44'/501'/${index(at)}'/0'`;
  const secret = agreed(hex(edHd.derivePath(path, hex(seed)).key), hex(HDKey.fromMasterSeed(seed).derive(path).privateKey));
  const pair = nacl.sign.keyPair.fromSeed(bytes(secret));
  const pkcs8 = Buffer.concat([bytes("302e020100300506032b657004220420"), bytes(secret)]);
  const openSsl = createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" });
  const sign = (data) => agreed(bs58.encode(nacl.sign.detached(data, pair.secretKey)), bs58.encode(signWithOpenSsl(null, data, openSsl)));
  const transaction = solanaTransaction(at, pair.publicKey);
  return {
    path,
    private: agreed(bs58.encode(pair.secretKey), encodeBase58(pair.secretKey)),
    address: agreed(bs58.encode(pair.publicKey), encodeBase58(pair.publicKey)),
    message: sign(Buffer.from(message(at))),
    raw: hex(transaction),
    transaction: sign(transaction),
  };
}

/** The message bytes of a transfer: header, three accounts, block hash, one instruction of the system program. */
function solanaTransaction(at, payer) {
  const amount = Buffer.alloc(8);
  amount.writeBigUInt64LE(number("lamports", at, 1n << 63n));
  const accounts = Buffer.concat([payer, noise("to", at), Buffer.alloc(32)]);
  return Buffer.concat([bytes("01000103"), accounts, noise("blockhash", at), bytes("01020200010c02000000"), amount]);
}

async function oneCase(at) {
  const entropy = noise("entropy", at).subarray(0, at % 2 === 0 ? 16 : 32);
  const passphrase = at % 10 === 3 ? `pass ${at} é` : "";
  const phrase = Mnemonic.fromEntropy(entropy, passphrase);
  const words = agreed(bip39.entropyToMnemonic(hex(entropy)), phrase.phrase);
  const seed = bytes(agreed(hex(bip39.mnemonicToSeedSync(words, passphrase)), phrase.computeSeed().slice(2)));
  return {
    entropy: hex(entropy),
    phrase: words,
    passphrase,
    seed: hex(seed),
    index: index(at),
    text: message(at),
    evm: ethereum(at, seed, phrase),
    tron: await tronNetwork(at, seed, words, passphrase),
    solana: solana(at, seed),
  };
}

/** Signatures whose r or s begins with zeros: where encodings that cut or pad them go wrong. */
function shortScalars() {
  const wallet = new Wallet(`0x${"46".repeat(32)}`);
  const found = [];
  for (let nonce = 0; found.length < 6; nonce += 1) {
    const transaction = Transaction.from({ type: 2, chainId: 1n, nonce, to: `0x${"35".repeat(20)}`, value: 1n, gasLimit: 21000n });
    const { signature } = ecc.signRecoverable(bytes(transaction.unsignedHash), bytes(wallet.privateKey));
    if (signature[0] === 0 || signature[32] === 0) {
      transaction.signature = wallet.signingKey.sign(transaction.unsignedHash);
      assert.equal(transaction.signature.r.slice(2) + transaction.signature.s.slice(2), hex(signature));
      found.push({ nonce, signed: transaction.serialized.slice(2) });
    }
  }
  return found;
}

const ELEMENTARY = ["bool", "address", "string", "bytes", "bytes1", "bytes7", "bytes32", "uint8", "uint64", "uint256", "int8", "int72", "int256"];

const DOMAIN = [["name", "string"], ["version", "string"], ["chainId", "uint256"], ["verifyingContract", "address"], ["salt", "bytes32"]];

/** What people sign to allow a token to be moved (EIP-2612, EIP-3009). */
const KNOWN = [
  { Permit: ["address owner", "address spender", "uint256 value", "uint256 nonce", "uint256 deadline"] },
  {
    TransferWithAuthorization: [
      "address from", "address to", "uint256 value", "uint256 validAfter", "uint256 validBefore", "bytes32 nonce",
    ],
  },
];

/** Three types below each other, with lists of all shapes and elementary types in turn. */
function nestedTypes(at) {
  const elementary = (which) => ELEMENTARY[(at + which) % ELEMENTARY.length];
  return {
    Root: ["Node first", "Node[] nodes", `${elementary(0)} alone`, `${elementary(1)}[] many`, `Leaf[${at % 3}] leaves`],
    Node: ["Leaf[2][] pairs", `${elementary(2)} value`, "string text", `${elementary(3)}[1][2] grid`],
    Leaf: [`${elementary(4)} a`, `${elementary(5)} b_2`, `${elementary(6)} $c`],
  };
}

function fieldsOf(lines) {
  return lines.map((line) => ({ type: line.split(" ")[0], name: line.split(" ")[1] }));
}

/** A value of this type: integers of all lengths, the lowest and the highest among them. */
function typedValue(types, type, ...names) {
  const random = noise("typed", type, ...names);
  const list = type.match(/^(.*)\[(\d*)\]$/);
  if (list) {
    return [...Array(list[2] === "" ? random[0] % 4 : Number(list[2]))].map((_, item) => typedValue(types, list[1], ...names, item));
  }
  if (types[type]) {
    return Object.fromEntries(types[type].map((field) => [field.name, typedValue(types, field.type, ...names, field.name)]));
  }
  const [, kind, size] = type.match(/^([a-z]+)(\d*)$/);
  const integer = () => {
    const bits = BigInt(size);
    const lowest = kind === "int" ? -(1n << (bits - 1n)) : 0n;
    const offset = [0n, (1n << bits) - 1n][random[1] % 5] ?? BigInt(`0x${hex(random)}`) % (1n << (1n + (BigInt(random[2]) % bits)));
    return lowest + offset;
  };
  return {
    bool: () => random[0] % 2 === 0,
    address: () => getAddress(`0x${hex(random).slice(24)}`),
    string: () => message(random[0] % 5),
    bytes: () => `0x${hex(random).slice(0, 2 * (size === "" ? random[0] % 33 : Number(size)))}`,
    uint: integer,
    int: integer,
  }[kind]();
}

/** Documents with every part of a domain and every type; half declare the type of the domain. */
function typedData(at) {
  const wallet = new Wallet(`0x${hex(noise("signer", at))}`);
  const lines = KNOWN[at] ?? nestedTypes(at);
  const types = Object.fromEntries(Object.entries(lines).map(([name, fields]) => [name, fieldsOf(fields)]));
  const primaryType = Object.keys(lines)[0];
  const given = DOMAIN.filter((_, which) => ((at % 31) + 1) & (1 << which)).map(([name, type]) => ({ name, type }));
  const domain = Object.fromEntries(given.map(({ name, type }) => [name, name === "chainId" ? BigInt(at + 1) : typedValue(types, type, at, name)]));
  const content = typedValue(types, primaryType, at);
  const digest = agreed(TypedDataEncoder.hash(domain, types, content), hashTypedData({ domain, types, primaryType, message: content }));
  const declared = at % 2 === 0 ? types : { ...types, EIP712Domain: given };
  const spelled = (_, value) => (typeof value !== "bigint" ? value : at % 3 !== 0 && BigInt.asIntN(50, value) === value ? Number(value) : `${value}`);
  return {
    document: JSON.stringify({ types: declared, primaryType, domain, message: content }, spelled),
    signer: wallet.address,
    private: wallet.privateKey.slice(2),
    signature: agreed(signRecoverable(bytes(digest), bytes(wallet.privateKey)), wallet.signingKey.sign(digest).serialized),
  };
}

const cases = await Promise.all([...Array(CASES).keys()].map(oneCase));
const documents = [...Array(DOCUMENTS).keys()].map(typedData);
const lines = (rows) => rows.map((row) => `    ${JSON.stringify(row)}`).join(",\n");
writeFileSync(new URL("vectors.json", import.meta.url), `{\n  "cases": [\n${lines(cases)}\n  ],\n  "short_scalars": [\n${lines(shortScalars())}\n  ],\n  "typed_data": [\n${lines(documents)}\n  ]\n}\n`);
