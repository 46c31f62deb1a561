// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Forward declarations, for headers that only pass these through.
namespace nebis {
class Engine;
class Operation;
class Execution;
class Executor;
class Handler;
class Error;
class Store;
class StoreSession;
class Gate;
class GateSession;
class Lock;
class ResultCache;
class KeyGenerator;
class ResponseProducer;
class ExceptionClassifier;
class OutcomeResolver;
class TransactionHooks;
class TransactionRunner;
class Redactor;
class TokenService;
struct Answer;
struct Drivers;
struct Policy;
struct Record;
struct Request;
struct Response;
}  // namespace nebis
