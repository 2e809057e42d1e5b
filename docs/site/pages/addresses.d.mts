export function addressOf(file: string): string;
export function linkBetween(from: string, to: string): string;
export function baseOf(address: string): string;
export function fileMeant(from: string, link: string): string | undefined;
export function exampleAddress(file: string): string | undefined;
