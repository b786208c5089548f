import ChatCore
import CommandLineKit
import Media

/// Prepares a message before sending: removes metadata from its picture if wanted, then adds a preview of the result.
struct MessagePreparation: Sendable {
    private let metadata: MetadataRemover?
    private let previews = PreviewMaker()

    static let option = Option(
        "strip-metadata", named: "OF", .choice(MetadataPolicy.self), default: .never,
        "Remove place, camera, comments and other metadata from outgoing JPEG, PNG and WebP pictures; needs exiftool."
    )

    /// - Throws: `UsageError` if no program can remove the metadata.
    init(_ policy: MetadataPolicy) throws(UsageError) {
        switch policy {
        case .never: metadata = nil
        case .images:
            metadata = MetadataRemover()
            if metadata == nil {
                throw UsageError(
                    "--strip-metadata images needs exiftool: install the package \(MetadataRemover.package)")
            }
        }
    }

    /// True if metadata is removed.
    var removesMetadata: Bool { metadata != nil }

    /// Prepares a message. A file created beside the staged one must be removed with it.
    func completed(_ message: ComposedMessage) async throws(ChatError) -> ComposedMessage {
        await previews.completed(try await metadata?.cleaned(message) ?? message)
    }
}
