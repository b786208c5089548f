/// An algorithm looked up once: OpenSSL 3 otherwise searches its providers at every use, for as long as
/// sealing 10 KiB takes.
struct FetchedAlgorithm: @unchecked Sendable {
    // Safe: an EVP_MD, EVP_MAC or EVP_CIPHER is immutable and counted; these live as long as the process.
    let pointer: OpaquePointer

    init(
        _ fetch: (OpaquePointer?, UnsafePointer<CChar>?, UnsafePointer<CChar>?) -> OpaquePointer?,
        _ name: String
    ) {
        guard let found = fetch(nil, name, nil) else { preconditionFailure("OpenSSL offers no \(name)") }
        pointer = found
    }
}
