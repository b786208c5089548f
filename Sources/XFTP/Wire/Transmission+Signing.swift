import Cryptography

extension Transmission {
    /// This transmission, signed.
    public func signed(by key: SigningKey) -> Transmission {
        var copy = self
        copy.signature = key.sign(signedBytes)
        return copy
    }

    /// Whether the signature is there and right for `key`.
    public func isSigned(by key: VerifyingKey) -> Bool {
        !signature.isEmpty && key.isValid(signature, for: signedBytes)
    }
}
