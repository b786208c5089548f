import JSON

/// One message of the core: `{"corrId":"1","resp":{…}}` of the WebSocket API, `{"result":{…}}` and
/// `{"error":{…}}` of the library.
struct APIFrame: Sendable {
    enum Content: Sendable {
        case response(JSONValue)
        case failure(APIError)
    }

    /// Id of the answered command; nil for events.
    var correlation: String?
    var content: Content

    /// Returns nil if it is not a frame.
    init?(_ bytes: [UInt8]) {
        guard let json = JSONValue.parse(bytes), json.isObject else { return nil }
        correlation = json["corrId"]?.string
        if let error = json["error"] {
            content = .failure(APIError(error))
        } else if let response = json["result"] ?? json["resp"], response.isObject {
            if response.type == "chatCmdError" {
                content = .failure(response["chatError"].map { APIError($0) } ?? APIError(path: []))
            } else {
                content = .response(response)
            }
        } else {
            return nil
        }
    }

    /// Decodes the frame as an answer to a command.
    func answer() throws(OfficialCoreError) -> APIResponse {
        switch content {
        case .response(let json): return APIResponse(json)
        case .failure(let error): throw OfficialCoreError(refusal: error)
        }
    }

    /// Decodes the frame as an event, which may be a failure without a command.
    var event: APIEvent {
        switch content {
        case .response(let json): APIEvent(json)
        case .failure(let error): APIEvent(userID: nil, kind: .errors([error]))
        }
    }
}
