export function undocumentedNames(): string[];
