export function carriedFontScript(): string;
