extension XFTPResponse {
    /// Decodes the response in a block and checks its session.
    init(block: [UInt8], sessionID: [UInt8]) throws(XFTPError) {
        guard let message = Block.unpad(block) else { throw .brokenProtocol("sent less than a block") }
        guard let transmission = try? Transmission(message: message) else {
            // Outside a session, a relay sends a bare error word.
            if let error = XFTPProtocolError(text: String(decoding: message, as: UTF8.self)) {
                self = .error(error)
                return
            }
            throw .brokenProtocol("sent a block without a response")
        }
        guard let response = XFTPResponse(decoding: transmission.body) else {
            throw .brokenProtocol("sent an unknown response")
        }
        if response != .error(.session), transmission.sessionID != sessionID {
            throw .brokenProtocol("answered in another session")
        }
        self = response
    }
}
