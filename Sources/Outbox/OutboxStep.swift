/// The moments between which a crash can fall.
enum OutboxStep: Hashable, Sendable {
    case created
    case writesRows
    case wroteRows
    case performs(DraftEffect)
    case staged
    case queued
    case handedOver
    case noted
}
