// Makes vectors.json: the same transfers as other libraries write and sign them. `cargo test` reads only the file.
//
//   npm ci --ignore-scripts && npm run vectors
//
// EVM: ethers. Tron: tronweb. Solana: @solana/web3.js and @solana/spl-token; accounts of a message may be in another
// order there, so these are decoded and not compared byte for byte.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { ComputeBudgetProgram, Keypair, PublicKey, SystemProgram, Transaction as SolanaTransaction, TransactionInstruction } from "@solana/web3.js";
import { createAssociatedTokenAccountIdempotentInstruction, createTransferCheckedInstruction, getAssociatedTokenAddressSync } from "@solana/spl-token";
import bs58 from "bs58";
import { Interface, Transaction, Wallet } from "ethers";
import { TronWeb, utils as tron } from "tronweb";

const CASES = 24;
const erc20 = new Interface(["function transfer(address to, uint256 amount)"]);
const hex = (bytes) => Buffer.from(bytes).toString("hex");
const noise = (...names) => createHash("sha256").update(`tenon chains ${names.join(" ")}`).digest();
const number = (name, at, max) => BigInt(`0x${hex(noise(name, at))}`) % max;

function evm(at) {
  const wallet = new Wallet(`0x${hex(noise("evm key", at))}`);
  const recipient = new Wallet(`0x${hex(noise("evm recipient", at))}`).address;
  const token = at % 2 === 0 ? null : new Wallet(`0x${hex(noise("evm token"))}`).address;
  const amount = number("evm amount", at, 1n << BigInt(8 + 5 * at)) + 1n;
  const price = number("evm price", at, 1n << 40n) + 1n;
  const tip = number("evm tip", at, price + 1n);
  const gasLimit = token ? 65000n : 21000n;
  const fields = { type: 2, chainId: 8453n, nonce: at * at, maxFeePerGas: price, maxPriorityFeePerGas: tip, gasLimit };
  const transaction = token
    ? Transaction.from({ ...fields, to: token, value: 0n, data: erc20.encodeFunctionData("transfer", [recipient, amount]) })
    : Transaction.from({ ...fields, to: recipient, value: amount });
  const unsigned = transaction.unsignedSerialized;
  transaction.signature = wallet.signingKey.sign(transaction.unsignedHash);
  return {
    sender: wallet.address, recipient, token, amount: `${amount}`, sequence: at * at,
    anchor: `${tip}`, price: `${price}`, fee: `${price * gasLimit}`,
    unsigned, raw: transaction.serialized, hash: transaction.hash,
  };
}

function tronCase(at) {
  const key = hex(noise("tron key", at));
  const sender = TronWeb.address.fromPrivateKey(key);
  const recipient = TronWeb.address.fromPrivateKey(hex(noise("tron recipient", at)));
  const token = at % 2 === 0 ? null : TronWeb.address.fromPrivateKey(hex(noise("tron token")));
  const amount = token ? number("tron amount", at, 1n << BigInt(8 + 5 * at)) + 1n : number("tron amount", at, 1n << 52n) + 1n;
  const block = hex(noise("tron block", at));
  const time = 1700000000000 + at * 1000;
  const address = (text) => TronWeb.address.toHex(text);
  const value = token
    ? { owner_address: address(sender), contract_address: address(token), data: erc20.encodeFunctionData("transfer", [`0x${address(recipient).slice(2)}`, amount]).slice(2) }
    : { owner_address: address(sender), to_address: address(recipient), amount: Number(amount) };
  const type = token ? "TriggerSmartContract" : "TransferContract";
  const raw_data = {
    contract: [{ parameter: { value, type_url: `type.googleapis.com/protocol.${type}` }, type }],
    ref_block_bytes: block.slice(12, 16),
    ref_block_hash: block.slice(16, 32),
    expiration: time + 2 * 60 * 60 * 1000,
    timestamp: time + at,
    ...(token ? { fee_limit: 13_650_000 } : {}),
  };
  const encoded = tron.transaction.txJsonToPb({ raw_data });
  const raw_data_hex = tron.transaction.txPbToRawDataHex(encoded).toLowerCase();
  const txID = tron.transaction.txPbToTxID(encoded).replace(/^0x/, "");
  const signed = tron.crypto.signTransaction(key, { raw_data, raw_data_hex, txID }).signature[0].replace(/^0x/, "");
  return {
    sender, recipient, token, amount: `${amount}`, sequence: at, anchor: `${block}/${time}`, price: "210", fee: "14150000",
    unsigned: raw_data_hex, hash: txID, signature: signed.toLowerCase(),
  };
}

function solana(at) {
  const payer = Keypair.fromSeed(noise("solana key", at));
  const recipient = Keypair.fromSeed(noise("solana recipient", at)).publicKey;
  const mint = at % 2 === 0 ? null : new PublicKey(noise("solana mint"));
  const amount = number("solana amount", at, 1n << BigInt(8 + at)) + 1n;
  const transaction = new SolanaTransaction({ feePayer: payer.publicKey, recentBlockhash: bs58.encode(noise("solana block", at)) });
  let accounts = null;
  if (mint) {
    accounts = [payer.publicKey, recipient].map((owner) => getAssociatedTokenAddressSync(mint, owner, true));
    transaction.add(createAssociatedTokenAccountIdempotentInstruction(payer.publicKey, accounts[1], recipient, mint));
    transaction.add(createTransferCheckedInstruction(accounts[0], mint, accounts[1], payer.publicKey, amount, 6));
  } else {
    transaction.add(SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: recipient, lamports: amount }));
  }
  const price = at % 3 === 0 ? 1_000_001 : 0;
  if (price) {
    transaction.add(ComputeBudgetProgram.setComputeUnitPrice({ microLamports: price }), ComputeBudgetProgram.setComputeUnitLimit({ units: 123_457 }));
  }
  const memo = new PublicKey("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
  transaction.add(new TransactionInstruction({ keys: [], programId: memo, data: Buffer.from(`${at}`) }));
  const unsigned = transaction.serializeMessage();
  transaction.sign(payer);
  assert(transaction.verifySignatures());
  return {
    sender: payer.publicKey.toBase58(), recipient: recipient.toBase58(), token: mint && mint.toBase58(), amount: `${amount}`, sequence: at,
    accounts: accounts && accounts.map((account) => account.toBase58()),
    fee: `${5000n + (mint ? 2039280n : 0n) + (price ? (1_000_001n * 123_457n + 999_999n) / 1_000_000n : 0n)}`,
    unsigned: unsigned.toString("base64"), raw: transaction.serialize().toString("base64"), hash: bs58.encode(transaction.signature),
  };
}

const rows = (make) => [...Array(CASES).keys()].map((at) => `    ${JSON.stringify(make(at))}`).join(",\n");
writeFileSync(new URL("vectors.json", import.meta.url), `{\n  "evm": [\n${rows(evm)}\n  ],\n  "tron": [\n${rows(tronCase)}\n  ],\n  "solana": [\n${rows(solana)}\n  ]\n}\n`);
