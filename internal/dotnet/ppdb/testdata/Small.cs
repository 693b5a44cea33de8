public static class Small { public static int One() { return 1; } }
