import JSON
import Testing

@testable import ScriptedCore

extension ScriptedSimpleX {
    /// The parsed answer.
    func response(_ command: String, _ location: SourceLocation = #_sourceLocation) throws -> JSONValue {
        try #require(answer(command).flatMap { JSONValue.parse(Array($0.utf8)) }, sourceLocation: location)
    }

    /// The type of the answer, or the name of a refusal's error.
    func outcome(_ command: String) throws -> String? {
        let response = try response(command)
        guard response.type == "chatCmdError" else { return response.type }
        let error = response["chatError"]
        return error?["storeError"]?.type ?? error?["errorType"]?.type ?? error?.type
    }

    /// The rows of an answer to a query, without their header.
    func rows(_ question: String) throws -> [String] {
        try response("/sql " + question)["rows"]?.elements.dropFirst().compactMap(\.string) ?? []
    }
}
